package notify_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/lcm/notify"
	"vnfm/vnfpkg"
)

func TestEveryFilterAttributeIsHonoured(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("0f0e0d0c-0000-4000-8000-000000000001")
	instance := &lcm.VnfInstance{
		ID: id, Name: "core", VnfdID: "vnfd-1", Provider: "Company", ProductName: "Router", SoftwareVersion: "1.0", VnfdVersion: "2.0",
	}
	pkg := &vnfpkg.Package{
		ID: id, OnboardingState: vnfpkg.Onboarded, OperationalState: vnfpkg.Disabled, UsageState: vnfpkg.InUse,
		Description: &vnfpkg.Description{
			VnfdID: "vnfd-1", Provider: "Company", ProductName: "Router", SoftwareVersion: "1.0", DescriptorVersion: "2.0",
		},
	}
	enabled := *pkg
	enabled.OperationalState = vnfpkg.Enabled
	events := map[string]*notify.Event{
		"creation":   notify.OfIdentifier(notify.IdentifierCreation, instance),
		"deletion":   notify.OfIdentifier(notify.IdentifierDeletion, instance),
		"scaling":    notify.OfOperation(&lcm.Operation{ID: id, State: lcm.StateProcessing, Type: lcm.OpScale}, instance),
		"onboarding": notify.OfPackage(&vnfpkg.Package{OnboardingState: vnfpkg.Processing}, pkg),
		"enabling":   notify.OfPackage(pkg, &enabled),
		"removal":    notify.OfPackage(pkg, nil),
	}
	const inside, outside = true, false
	for _, test := range []struct {
		event, filter string
		wanted        bool
	}{
		{"creation", `{}`, inside},
		{"creation", `{"notificationTypes": []}`, inside},
		{"creation", `{"notificationTypes": ["VnfIdentifierDeletionNotification", "VnfIdentifierCreationNotification"]}`, inside},
		{"deletion", `{"notificationTypes": ["VnfIdentifierCreationNotification"]}`, outside},
		{"scaling", `{"notificationTypes": ["VnfIdentifierCreationNotification"]}`, outside},
		{"scaling", `{"operationTypes": ["INSTANTIATE", "SCALE"]}`, inside},
		{"scaling", `{"operationTypes": ["INSTANTIATE"]}`, outside},
		{"scaling", `{"operationStates": ["PROCESSING"]}`, inside},
		{"scaling", `{"operationStates": ["COMPLETED"]}`, outside},
		{"scaling", `{"operationTypes": ["SCALE"], "operationStates": ["COMPLETED"]}`, outside},
		{"creation", `{"operationTypes": ["INSTANTIATE"], "operationStates": ["COMPLETED"]}`, inside},
		{"scaling", `{"vnfInstanceSubscriptionFilter": {}}`, inside},
		{"scaling", `{"vnfInstanceSubscriptionFilter": {"vnfdIds": ["vnfd-2", "vnfd-1"]}}`, inside},
		{"scaling", `{"vnfInstanceSubscriptionFilter": {"vnfdIds": ["vnfd-2"]}}`, outside},
		{"scaling", `{"vnfInstanceSubscriptionFilter": {"vnfInstanceIds": ["0f0e0d0c-0000-4000-8000-000000000001"]}}`, inside},
		{"scaling", `{"vnfInstanceSubscriptionFilter": {"vnfInstanceIds": ["0f0e0d0c-0000-4000-8000-000000000002"]}}`, outside},
		{"deletion", `{"vnfInstanceSubscriptionFilter": {"vnfInstanceNames": ["core"]}}`, inside},
		{"deletion", `{"vnfInstanceSubscriptionFilter": {"vnfInstanceNames": ["edge"]}}`, outside},
		{"deletion", `{"vnfInstanceSubscriptionFilter": {"vnfInstanceNames": ["core"], "vnfdIds": ["vnfd-2"]}}`, outside},
		{"scaling", `{"vnfInstanceSubscriptionFilter": {"vnfProductsFromProviders": [{"vnfProvider": "Company"}]}}`, inside},
		{"scaling", `{"vnfInstanceSubscriptionFilter": {"vnfProductsFromProviders": [{"vnfProvider": "Another"}]}}`, outside},
		{"scaling", `{"vnfInstanceSubscriptionFilter": {"vnfProductsFromProviders": [
			{"vnfProvider": "Another"}, {"vnfProvider": "Company", "vnfProducts": [{"vnfProductName": "Router"}]}]}}`, inside},
		{"scaling", `{"vnfInstanceSubscriptionFilter": {"vnfProductsFromProviders": [
			{"vnfProvider": "Company", "vnfProducts": [{"vnfProductName": "Switch"}]}]}}`, outside},
		{"scaling", `{"vnfInstanceSubscriptionFilter": {"vnfProductsFromProviders": [{"vnfProvider": "Company", "vnfProducts": [
			{"vnfProductName": "Router", "versions": [{"vnfSoftwareVersion": "1.0"}]}]}]}}`, inside},
		{"scaling", `{"vnfInstanceSubscriptionFilter": {"vnfProductsFromProviders": [{"vnfProvider": "Company", "vnfProducts": [
			{"vnfProductName": "Router", "versions": [{"vnfSoftwareVersion": "1.0", "vnfdVersions": ["1.0"]}]}]}]}}`, outside},
		{"onboarding", `{}`, inside},
		{"onboarding", `{"notificationTypes": ["VnfPackageChangeNotification"]}`, outside},
		{"enabling", `{"notificationTypes": ["VnfPackageChangeNotification"]}`, inside},
		{"removal", `{"notificationTypes": ["VnfPackageOnboardingNotification"]}`, outside},
		{"enabling", `{"operationalState": ["ENABLED"]}`, inside},
		{"removal", `{"operationalState": ["ENABLED"]}`, outside},
		{"removal", `{"usageState": ["NOT_IN_USE"]}`, outside},
		{"onboarding", `{"usageState": ["IN_USE"]}`, inside},
		{"onboarding", `{"vnfdId": ["vnfd-1"]}`, inside},
		{"onboarding", `{"vnfdId": ["vnfd-2"]}`, outside},
		{"onboarding", `{"vnfPkgId": ["0f0e0d0c-0000-4000-8000-000000000001"]}`, inside},
		{"onboarding", `{"vnfPkgId": ["0f0e0d0c-0000-4000-8000-000000000002"]}`, outside},
		{"onboarding", `{"vnfProductsFromProviders": [{"vnfProvider": "Company"}]}`, inside},
		{"onboarding", `{"vnfProductsFromProviders": [{"vnfProvider": "Another"}]}`, outside},
	} {
		t.Run(test.event+" "+test.filter, func(t *testing.T) {
			t.Parallel()
			var filter notify.Filter
			if err := json.Unmarshal([]byte(test.filter), &filter); err != nil {
				t.Fatal(err)
			}
			if wanted := filter.Allows(events[test.event]); wanted != test.wanted {
				t.Errorf("wanted %t, want %t", wanted, test.wanted)
			}
		})
	}
}

func TestChangesThatNobodyIsToldOf(t *testing.T) {
	t.Parallel()
	onboarded := &vnfpkg.Package{OnboardingState: vnfpkg.Onboarded, OperationalState: vnfpkg.Enabled, Description: &vnfpkg.Description{}}
	created := &vnfpkg.Package{OnboardingState: vnfpkg.Created}
	for name, change := range map[string][2]*vnfpkg.Package{
		"data of the user":                    {onboarded, onboarded},
		"a package without content":           {created, created},
		"its deletion":                        {created, nil},
		"processing that comes back to empty": {{OnboardingState: vnfpkg.Processing}, created},
	} {
		if event := notify.OfPackage(change[0], change[1]); event != nil {
			t.Errorf("%s: %+v", name, event.Body)
		}
	}
}
