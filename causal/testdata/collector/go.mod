module example.org/collector

go 1.26
