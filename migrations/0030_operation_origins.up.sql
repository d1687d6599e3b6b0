-- Where an operation comes from, for logs and traces: the id of the request, and its span as a W3C traceparent.
ALTER TABLE vnf_lcm_op_occs
    ADD COLUMN request_id   text,
    ADD COLUMN trace_parent text;
