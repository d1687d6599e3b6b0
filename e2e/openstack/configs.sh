# Writes the configuration of every service below $ETC; to be sourced.

db() { echo "mysql+pymysql://$1:$PASSWORD@127.0.0.1:$DB_PORT/$1?charset=utf8"; }

auth_of() { # the options with which service user $1 logs in to Keystone
    cat <<END
auth_type = password
auth_url = $AUTH_URL
username = $1
password = $PASSWORD
project_name = service
user_domain_name = Default
project_domain_name = Default
region_name = $REGION
END
}

common() { # service user $1, database options
    cat <<END
[DEFAULT]
debug = ${TESTBED_DEBUG:-false}
transport_url = rabbit://guest:guest@127.0.0.1:$RABBIT_PORT/
state_path = $TESTBED_STATE/lib/$1
rpc_response_timeout = 120
[oslo_concurrency]
lock_path = $TESTBED_STATE/lib/$1/lock
[oslo_messaging_rabbit]
heartbeat_in_pthread = false
[keystone_authtoken]
$(auth_of "$1")
www_authenticate_uri = $AUTH_URL
memcached_servers = 127.0.0.1:$MEMCACHE_PORT
service_token_roles = service
service_token_roles_required = true
[database]
connection = $(db "$1")
max_pool_size = 20
max_overflow = 40
END
}

write_configs() {
    local s
    mkdir -p "$ETC" "$LOG" "$RUN"
    for s in keystone nova neutron heat glance cinder placement; do
        mkdir -p "$ETC/$s" "$TESTBED_STATE/lib/$s/lock"
    done
    mkdir -p "$TESTBED_STATE/lib/glance/images"

    cat >"$ETC/my.cnf" <<END
[mariadbd]
user = root
datadir = $TESTBED_STATE/lib/mysql
socket = $RUN/mysql.sock
pid-file = $TESTBED_STATE/lib/mysqld.pid
port = $DB_PORT
bind-address = 127.0.0.1
skip-name-resolve
skip-log-bin
character-set-server = utf8mb3
max_connections = 1000
performance_schema = off
innodb_flush_log_at_trx_commit = 0
innodb_doublewrite = 0
innodb_flush_method = nosync
innodb_buffer_pool_size = 128M
innodb_log_file_size = 64M
END

    cat >"$ETC/rabbitmq.conf" <<END
listeners.tcp.default = 127.0.0.1:$RABBIT_PORT
loopback_users.guest = true
vm_memory_high_watermark.relative = 0.3
disk_free_limit.absolute = 50MB
log.console = true
log.console.level = warning
log.file = false
END
    : >"$ETC/rabbitmq-enabled-plugins"
    echo '[].' >"$ETC/rabbitmq-enabled-plugins"

    cat >"$ETC/keystone/keystone.conf" <<END
[DEFAULT]
debug = ${TESTBED_DEBUG:-false}
[database]
connection = $(db keystone)
[token]
provider = fernet
expiration = 86400
[fernet_tokens]
key_repository = $ETC/keystone/fernet-keys
[fernet_receipts]
key_repository = $ETC/keystone/fernet-keys
[credential]
key_repository = $ETC/keystone/credential-keys
[identity]
password_hash_rounds = 4
[cache]
enabled = true
backend = dogpile.cache.memcached
memcache_servers = 127.0.0.1:$MEMCACHE_PORT
END

    cat >"$ETC/placement/placement.conf" <<END
[DEFAULT]
debug = ${TESTBED_DEBUG:-false}
[api]
auth_strategy = keystone
[keystone_authtoken]
$(auth_of placement)
www_authenticate_uri = $AUTH_URL
memcached_servers = 127.0.0.1:$MEMCACHE_PORT
[placement_database]
connection = $(db placement)
END

    cp /usr/share/glance-common/glance-api-paste.ini "$ETC/glance/"
    {
        common glance
        cat <<END
[DEFAULT]
bind_host = 127.0.0.1
bind_port = 9292
workers = 0
enabled_backends = files:file
[glance_store]
default_backend = files
[files]
filesystem_store_datadir = $TESTBED_STATE/lib/glance/images
[paste_deploy]
flavor = keystone
config_file = $ETC/glance/glance-api-paste.ini
END
    } >"$ETC/glance/glance-api.conf"

    cp /usr/share/cinder-common/api-paste.ini /etc/cinder/resource_filters.json \
        "$ETC/cinder/"
    {
        common cinder
        cat <<END
[DEFAULT]
host = testbed
my_ip = 127.0.0.1
osapi_volume_listen = 127.0.0.1
osapi_volume_listen_port = 8776
osapi_volume_workers = 1
api_paste_config = $ETC/cinder/api-paste.ini
resource_query_filters_file = $ETC/cinder/resource_filters.json
auth_strategy = keystone
glance_api_servers = http://127.0.0.1:9292
enabled_backends = null
default_volume_type = __DEFAULT__
quota_volumes = 1000
quota_snapshots = 1000
quota_gigabytes = 100000
use_multipath_for_image_xfer = false
enable_new_services = true
[null]
volume_driver = testbed_cinder.NullVolumeDriver
volume_backend_name = null
[nova]
$(auth_of nova)
[service_user]
send_service_user_token = true
$(auth_of cinder)
END
    } >"$ETC/cinder/cinder.conf"

    cp /usr/share/neutron-common/api-paste.ini "$ETC/neutron/"
    {
        common neutron
        cat <<END
[DEFAULT]
bind_host = 127.0.0.1
bind_port = 9696
api_workers = 0
rpc_workers = 0
rpc_state_report_workers = 0
api_paste_config = $ETC/neutron/api-paste.ini
auth_strategy = keystone
core_plugin = ml2
service_plugins = router,qos
notify_nova_on_port_status_changes = true
notify_nova_on_port_data_changes = true
send_events_interval = 1
dns_domain = testbed.
[ml2]
type_drivers = local,flat,vlan,vxlan
tenant_network_types = vxlan
mechanism_drivers = testbed
extension_drivers = port_security,qos
[ml2_type_flat]
flat_networks = *
[ml2_type_vlan]
network_vlan_ranges = physnet1:100:200
[ml2_type_vxlan]
vni_ranges = 1:4000
[securitygroup]
enable_security_group = true
[nova]
$(auth_of nova)
[placement]
$(auth_of placement)
[quotas]
quota_network = 1000
quota_subnet = 1000
quota_port = 5000
quota_router = 200
quota_floatingip = 500
quota_security_group = 1000
quota_security_group_rule = 10000
END
    } >"$ETC/neutron/neutron.conf"

    {
        common heat
        cat <<END
[DEFAULT]
host = testbed
num_engine_workers = 1
region_name_for_services = $REGION
heat_metadata_server_url = http://127.0.0.1:8000
heat_waitcondition_server_url = http://127.0.0.1:8000/v1/waitcondition
stack_user_domain_name = heat
stack_domain_admin = heat_domain_admin
stack_domain_admin_password = $PASSWORD
auth_encryption_key = 0123456789abcdef0123456789abcdef
max_stacks_per_tenant = 1000
plugin_dirs = $TESTBED_HERE/heat-plugins
[heat_api]
bind_host = 127.0.0.1
bind_port = 8004
workers = 0
[paste_deploy]
api_paste_config = /etc/heat/api-paste.ini
[trustee]
auth_type = password
auth_url = $AUTH_URL
username = heat
password = $PASSWORD
user_domain_name = Default
[clients_keystone]
auth_uri = $AUTH_URL
END
    } >"$ETC/heat/heat.conf"

    cp /usr/share/nova-common/api-paste.ini "$ETC/nova/"
    {
        common nova
        cat <<END
[DEFAULT]
my_ip = 127.0.0.1
compute_driver = fake.FakeDriver
enabled_apis = osapi_compute
osapi_compute_listen = 127.0.0.1
osapi_compute_listen_port = 8774
osapi_compute_workers = 1
allow_resize_to_same_host = true
periodic_fuzzy_delay = 0
sync_power_state_interval = -1
heal_instance_info_cache_interval = 60
update_resources_interval = 60
vif_plugging_is_fatal = false
vif_plugging_timeout = 0
[api_database]
connection = $(db nova_api)
[wsgi]
api_paste_config = $ETC/nova/api-paste.ini
[service_user]
send_service_user_token = true
$(auth_of nova)
[placement]
$(auth_of placement)
[neutron]
$(auth_of neutron)
[cinder]
catalog_info = volumev3::publicURL
$(auth_of cinder)
[glance]
api_servers = http://127.0.0.1:9292
[vnc]
enabled = false
[conductor]
workers = 1
[scheduler]
workers = 1
discover_hosts_in_cells_interval = 5
[filter_scheduler]
enabled_filters = ComputeFilter,ComputeCapabilitiesFilter,ImagePropertiesFilter,ServerGroupAntiAffinityFilter,ServerGroupAffinityFilter,SameHostFilter,DifferentHostFilter
[quota]
instances = 500
cores = 2000
ram = -1
server_groups = 500
server_group_members = 500
END
    } >"$ETC/nova/nova.conf"
}

rc_of() { # user, project
    cat <<END
export OS_AUTH_URL=$AUTH_URL
export OS_IDENTITY_API_VERSION=3
export OS_USERNAME=$1
export OS_PASSWORD=$PASSWORD
export OS_PROJECT_NAME=$2
export OS_USER_DOMAIN_NAME=Default
export OS_PROJECT_DOMAIN_NAME=Default
export OS_REGION_NAME=$REGION
END
}

cloud_of() { # name, user, project
    cat <<END
  $1:
    region_name: $REGION
    identity_api_version: 3
    auth:
      auth_url: $AUTH_URL
      username: $2
      password: $PASSWORD
      project_name: $3
      user_domain_name: Default
      project_domain_name: Default
END
}

write_credentials() {
    rc_of admin admin >"$TESTBED_STATE/adminrc"
    rc_of nfv_user nfv >"$TESTBED_STATE/nfvrc"
    {
        echo "clouds:"
        cloud_of admin admin admin
        cloud_of nfv nfv_user nfv
        cloud_of member nfv_member nfv
    } >"$TESTBED_STATE/clouds.yaml"
}
