module concwatch/go

go 1.22
