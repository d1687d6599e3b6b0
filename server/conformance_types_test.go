package server_test

import (
	"slices"
	"strings"
	"testing"

	"vnfm/server/servertest"
)

// TestDataTypesAreThoseOfTheStandard compares the documents, which requests and answers are checked against, with the attributes of SOL003:
// ! is behind the mandatory ones, - before optional ones that there is nothing for, and + before those that the standard does not have;
// docs/conformance.md lists both.
func TestDataTypesAreThoseOfTheStandard(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ document, name, attributes string }{
		{"shared", "ProblemDetails", "type title status! detail! instance"},
		{"shared", "Link", "href!"},
		{"shared", "ApiVersionInformation", "uriPrefix! apiVersions!"},
		{"shared", "ApiVersion", "version! isDeprecated -retirementDate"},
		{"shared", "Checksum", "algorithm! hash!"},
		{"vnflcm", "CreateVnfRequest", "vnfdId! vnfInstanceName vnfInstanceDescription metadata"},
		{"vnflcm", "InstantiateVnfRequest", "flavourId! instantiationLevelId extVirtualLinks extManagedVirtualLinks vimConnectionInfo localizationLanguage " +
			"additionalParams extensions vnfConfigurableProperties"},
		{"vnflcm", "ScaleVnfRequest", "type! aspectId! numberOfSteps additionalParams"},
		{"vnflcm", "ScaleVnfToLevelRequest", "instantiationLevelId scaleInfo additionalParams"},
		{"vnflcm", "ChangeVnfFlavourRequest", "newFlavourId! instantiationLevelId extVirtualLinks extManagedVirtualLinks -vimConnectionInfo " +
			"additionalParams extensions vnfConfigurableProperties"},
		{"vnflcm", "TerminateVnfRequest", "terminationType! gracefulTerminationTimeout additionalParams"},
		{"vnflcm", "HealVnfRequest", "cause additionalParams vnfcInstanceId"},
		{"vnflcm", "OperateVnfRequest", "changeStateTo! stopType gracefulStopTimeout additionalParams vnfcInstanceId"},
		{"vnflcm", "ChangeExtVnfConnectivityRequest", "extVirtualLinks! -vimConnectionInfo additionalParams"},
		{"vnflcm", "VnfInfoModificationRequest", "vnfInstanceName vnfInstanceDescription vnfdId vnfPkgId vnfConfigurableProperties metadata extensions " +
			"vimConnectionInfo vimConnectionInfoDeleteIds"},
		{"vnflcm", "CancelMode", "cancelMode!"},
		{"vnflcm", "VnfInstance", "id! vnfInstanceName vnfInstanceDescription vnfdId! vnfProvider! vnfProductName! vnfSoftwareVersion! vnfdVersion! " +
			"vnfConfigurableProperties vimConnectionInfo instantiationState! instantiatedVnfInfo metadata extensions _links!"},
		{"vnflcm", "VnfInstanceLinks", "self! -indicators instantiate terminate scale scaleToLevel changeFlavour heal operate changeExtConn"},
		{"vnflcm", "InstantiatedVnfInfo", "flavourId! vnfState! scaleStatus extCpInfo extVirtualLinkInfo extManagedVirtualLinkInfo -monitoringParameters " +
			"localizationLanguage vnfcResourceInfo vnfVirtualLinkResourceInfo virtualStorageResourceInfo"},
		{"vnflcm", "ScaleInfo", "aspectId! scaleLevel!"},
		{"vnflcm", "VnfExtCpInfo", "id! cpdId! cpProtocolInfo! extLinkPortId -metadata associatedVnfcCpId -associatedVnfVirtualLinkId"},
		{"vnflcm", "CpProtocolInfo", "layerProtocol! ipOverEthernet"},
		{"vnflcm", "IpOverEthernetAddressInfo", "macAddress ipAddresses"},
		{"vnflcm", "IpAddressInfo", "type! addresses -addressRange isDynamic subnetId"},
		{"vnflcm", "ExtVirtualLinkInfo", "id! resourceHandle! extLinkPorts"},
		{"vnflcm", "ExtLinkPortInfo", "id! resourceHandle! cpInstanceId"},
		{"vnflcm", "ExtManagedVirtualLinkInfo", "id! vnfVirtualLinkDescId! networkResource vnfLinkPorts"},
		{"vnflcm", "VnfLinkPortInfo", "id! resourceHandle! cpInstanceId cpInstanceType"},
		{"vnflcm", "VnfcResourceInfo", "id! vduId! computeResource! storageResourceIds -reservationId vnfcCpInfo metadata"},
		{"vnflcm", "VnfcCpInfo", "id! cpdId! vnfExtCpId cpProtocolInfo vnfLinkPortId -metadata"},
		{"vnflcm", "VnfVirtualLinkResourceInfo", "id! vnfVirtualLinkDescId! networkResource! -reservationId vnfLinkPorts -metadata"},
		{"vnflcm", "VirtualStorageResourceInfo", "id! virtualStorageDescId! storageResource! -reservationId -metadata"},
		{"vnflcm", "ResourceHandle", "vimConnectionId resourceProviderId resourceId! vimLevelResourceType"},
		{"vnflcm", "VimConnectionInfo", "id! vimId vimType! interfaceInfo accessInfo extra"},
		{"vnflcm", "ExtVirtualLinkData", "id! vimConnectionId resourceProviderId resourceId! extCps! extLinkPorts"},
		{"vnflcm", "VnfExtCpData", "cpdId! cpConfig!"},
		{"vnflcm", "VnfExtCpConfig", "cpInstanceId linkPortId cpProtocolData"},
		{"vnflcm", "CpProtocolData", "layerProtocol! ipOverEthernet"},
		{"vnflcm", "IpOverEthernetAddressData", "macAddress ipAddresses"},
		{"vnflcm", "IpAddressData", "type! fixedAddresses numDynamicAddresses addressRange subnetId"},
		{"vnflcm", "ExtLinkPortData", "id! resourceHandle!"},
		{"vnflcm", "ExtManagedVirtualLinkData", "id! virtualLinkDescId vnfVirtualLinkDescId vimConnectionId resourceProviderId resourceId!"},
		{"vnflcm", "VnfLcmOpOcc", "id! operationState! stateEnteredTime! startTime! vnfInstanceId! grantId operation! isAutomaticInvocation! operationParams " +
			"isCancelPending! cancelMode error resourceChanges changedInfo changedExtConnectivity +progress _links!"},
		{"vnflcm", "VnfLcmOpOccLinks", "self! vnfInstance! grant cancel retry rollback fail"},
		{"vnflcm", "ResourceChanges", "affectedVnfcs affectedVirtualLinks affectedVirtualStorages"},
		{"vnflcm", "AffectedVnfc", "id! vduId! changeType! computeResource! metadata affectedVnfcCpIds addedStorageResourceIds removedStorageResourceIds"},
		{"vnflcm", "AffectedVirtualLink", "id! vnfVirtualLinkDescId! virtualLinkDescId! changeType! networkResource! -metadata"},
		{"vnflcm", "AffectedVirtualStorage", "id! virtualStorageDescId! changeType! storageResource! -metadata"},
		{"shared", "SubscriptionAuthentication", "authType! paramsBasic paramsOauth2ClientCredentials"},
		{"vnflcm", "LccnSubscriptionRequest", "filter callbackUri! authentication"},
		{"vnflcm", "LccnSubscription", "id! filter callbackUri! _links!"},
		{"vnflcm", "LifecycleChangeNotificationsFilter", "vnfInstanceSubscriptionFilter notificationTypes operationTypes operationStates"},
		{"vnflcm", "VnfInstanceSubscriptionFilter", "vnfdIds vnfProductsFromProviders vnfInstanceIds vnfInstanceNames"},
		{"vnflcm", "VnfLcmOperationOccurrenceNotification", "id! notificationType! subscriptionId! timeStamp! notificationStatus! operationState! vnfInstanceId! operation! " +
			"isAutomaticInvocation! vnfLcmOpOccId! affectedVnfcs affectedVirtualLinks affectedVirtualStorages changedInfo changedExtConnectivity error _links!"},
		{"vnflcm", "VnfIdentifierCreationNotification", "id! notificationType! subscriptionId! timeStamp! vnfInstanceId! _links!"},
		{"vnflcm", "VnfIdentifierDeletionNotification", "id! notificationType! subscriptionId! timeStamp! vnfInstanceId! _links!"},
		{"vnflcm", "LccnLinks", "vnfInstance! subscription! vnfLcmOpOcc"},
		{"vnfpkgm", "PkgmSubscriptionRequest", "filter callbackUri! authentication"},
		{"vnfpkgm", "PkgmSubscription", "id! filter callbackUri! _links!"},
		{"vnfpkgm", "PkgmNotificationsFilter", "notificationTypes vnfProductsFromProviders vnfdId vnfPkgId operationalState usageState"},
		{"vnfpkgm", "VnfPackageOnboardingNotification", "id! notificationType! subscriptionId! timeStamp! vnfPkgId! vnfdId! _links!"},
		{"vnfpkgm", "VnfPackageChangeNotification", "id! notificationType! subscriptionId! timeStamp! vnfPkgId! vnfdId! changeType! operationalState _links!"},
		{"vnfpkgm", "PkgmLinks", "vnfPackage! subscription!"},
		{"vnfpkgm", "CreateVnfPkgInfoRequest", "userDefinedData"},
		{"vnfpkgm", "VnfPkgInfoModifications", "operationalState userDefinedData"},
		{"vnfpkgm", "VnfPkgInfo", "id! vnfdId vnfProvider vnfProductName vnfSoftwareVersion vnfdVersion checksum softwareImages additionalArtifacts onboardingState! " +
			"operationalState! usageState! userDefinedData _links!"},
		{"vnfpkgm", "VnfPkgInfoLinks", "self! vnfd packageContent!"},
		{"vnfpkgm", "VnfPackageArtifactInfo", "artifactPath! checksum! metadata"},
		{"vnfpkgm", "VnfPackageSoftwareImageInfo", "id! name! provider! version! checksum! containerFormat! diskFormat! createdAt! " +
			"minDisk! minRam! size! userMetadata imagePath!"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			schema := servertest.Document(t, row.document+".yaml").Components.Schemas[row.name]
			if schema == nil {
				t.Fatal("the documents do not have it")
			}
			var mandatory []string
			for attribute := range strings.FieldsSeq(row.attributes) {
				name, without := strings.CutPrefix(strings.TrimPrefix(attribute, "+"), "-")
				name, must := strings.CutSuffix(name, "!")
				if must {
					mandatory = append(mandatory, name)
				}
				if there := schema.Value.Properties[name] != nil; there == without {
					t.Errorf("%s is there: %v", name, there)
				}
			}
			required := slices.Clone(schema.Value.Required)
			slices.Sort(required)
			slices.Sort(mandatory)
			if !slices.Equal(required, mandatory) {
				t.Errorf("mandatory are %v, and must be %v", required, mandatory)
			}
		})
	}
}
