module example.org/processor

go 1.26
