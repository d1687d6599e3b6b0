// Package e2e tests vnfm as its users meet it: with the real openstack client, against a real OpenStack on this machine.
//
// e2e/run brings the OpenStack of e2e/openstack up, starts vnfm on 127.0.0.1:9890 (e2e/server) and runs the tests, which need the build tag
// e2e. What a user types goes through the client; what has to be true behind it is read from OpenStack itself. The tests run one after the
// other, since some of them take the server or Heat away, and each removes what it made. The servers of OpenStack boot nothing; TestKubernetes
// gives them bodies to log in to (e2e/openstack/hosts), on which e2e/kubernetes stands in for what cannot run there.
package e2e
