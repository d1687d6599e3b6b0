DROP TABLE host_keys;
