module example.org/brief

go 1.26
