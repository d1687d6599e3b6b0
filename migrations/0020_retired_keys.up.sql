-- Keys that nothing is sealed with any more. A server that has not noticed cannot seal with them, since nobody could open it.
CREATE TABLE retired_keys (
    id         bytea       PRIMARY KEY, -- the beginning of what the key has sealed
    retired_at timestamptz NOT NULL DEFAULT now()
);
CREATE FUNCTION sealed_with_retired_key(sealed bytea) RETURNS boolean LANGUAGE sql AS
    'SELECT EXISTS (SELECT FROM retired_keys WHERE id = substring(sealed FROM 1 FOR 4))';
CREATE FUNCTION refuse_retired_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a secret of % is sealed with a key that is retired: the server has not the key file of the others', TG_TABLE_NAME;
END $$;
CREATE TRIGGER auth_cred_key BEFORE INSERT OR UPDATE OF auth_cred ON vims
    FOR EACH ROW WHEN (sealed_with_retired_key(NEW.auth_cred)) EXECUTE FUNCTION refuse_retired_key();
CREATE TRIGGER deployment_key BEFORE INSERT OR UPDATE OF deployment ON vnf_instances
    FOR EACH ROW WHEN (sealed_with_retired_key(NEW.deployment)) EXECUTE FUNCTION refuse_retired_key();
CREATE TRIGGER request_key BEFORE INSERT OR UPDATE OF request ON vnf_lcm_op_occs
    FOR EACH ROW WHEN (sealed_with_retired_key(NEW.request)) EXECUTE FUNCTION refuse_retired_key();
CREATE TRIGGER output_key BEFORE INSERT OR UPDATE OF output ON vnf_lcm_op_steps
    FOR EACH ROW WHEN (sealed_with_retired_key(NEW.output)) EXECUTE FUNCTION refuse_retired_key();
CREATE TRIGGER authentication_key BEFORE INSERT OR UPDATE OF authentication ON subscriptions
    FOR EACH ROW WHEN (sealed_with_retired_key(NEW.authentication)) EXECUTE FUNCTION refuse_retired_key();
CREATE TRIGGER source_key BEFORE INSERT OR UPDATE OF source ON vnf_packages
    FOR EACH ROW WHEN (sealed_with_retired_key(NEW.source)) EXECUTE FUNCTION refuse_retired_key();
