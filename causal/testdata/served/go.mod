module example.org/served

go 1.26
