# Seconds that existing classes take for the limit. The VNF manager's own is a little shorter.
USER_DATA_TIMEOUT = 60
