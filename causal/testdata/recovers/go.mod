module example.org/recovers

go 1.26
