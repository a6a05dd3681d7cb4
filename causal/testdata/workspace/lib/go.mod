module example.org/lib

go 1.26
