module example.org/atonce

go 1.26
