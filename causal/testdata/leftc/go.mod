module example.org/left

go 1.26
