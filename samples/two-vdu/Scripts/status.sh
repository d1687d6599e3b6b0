#!/bin/sh
# Says which machine this is and how it is connected, one line for each network interface.
set -eu
hostname
ip -brief address show scope global
