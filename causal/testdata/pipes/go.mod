module example.org/pipes

go 1.26
