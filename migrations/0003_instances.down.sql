DROP TABLE vnf_instances;
