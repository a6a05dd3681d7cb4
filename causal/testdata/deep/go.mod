module example.org/deep

go 1.26
