# bytes share
10.0 0
10000.1 1
