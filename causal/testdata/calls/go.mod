module example.org/calls

go 1.26
