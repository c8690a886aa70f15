module concwatch/bare

go 1.22
