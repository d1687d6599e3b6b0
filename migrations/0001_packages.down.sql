DROP TABLE vnf_packages;
