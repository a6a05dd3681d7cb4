module example.org/loop

go 1.26
