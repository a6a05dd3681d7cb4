module example.org/fewer

go 1.26
