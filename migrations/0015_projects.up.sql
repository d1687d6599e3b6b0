-- Every row belongs to a project; '' is that of what was made without authentication. VIMs have had it as tenant_id.
ALTER TABLE vnf_packages ADD COLUMN project_id text NOT NULL DEFAULT '';
ALTER TABLE vnf_instances ADD COLUMN project_id text NOT NULL DEFAULT '';
ALTER TABLE vnf_lcm_op_occs ADD COLUMN project_id text NOT NULL DEFAULT '';
ALTER TABLE subscriptions ADD COLUMN project_id text NOT NULL DEFAULT '';
-- Whether it hears also of what belongs to other projects.
ALTER TABLE subscriptions ADD COLUMN everywhere boolean NOT NULL DEFAULT false;

DROP INDEX vnf_packages_vnfd;
CREATE UNIQUE INDEX vnf_packages_vnfd ON vnf_packages (vnfd_id, project_id);
DROP INDEX subscriptions_duplicate;
CREATE UNIQUE INDEX subscriptions_duplicate ON subscriptions (project_id, everywhere, interface, md5(callback_uri), md5(filter::text));
CREATE INDEX vnf_instances_project ON vnf_instances (project_id, created_at, id);
CREATE INDEX vnf_lcm_op_occs_project ON vnf_lcm_op_occs (project_id, created_at, id);
