module example.org/dense

go 1.26
