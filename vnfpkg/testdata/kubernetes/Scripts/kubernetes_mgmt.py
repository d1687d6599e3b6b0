# management driver
