package notify

import (
	"cmp"
	"slices"

	"vnfm/lcm"
	"vnfm/vnfpkg"
)

// Type is the type of a notification.
type Type string

// The notification types (SOL003 5.5.2.17 to 5.5.2.19, 10.5.2.5, 10.5.2.6).
const (
	OperationOccurrence Type = "VnfLcmOperationOccurrenceNotification"
	IdentifierCreation  Type = "VnfIdentifierCreationNotification"
	IdentifierDeletion  Type = "VnfIdentifierDeletionNotification"
	PackageOnboarding   Type = "VnfPackageOnboardingNotification"
	PackageChange       Type = "VnfPackageChangeNotification"
)

// Filter says which notifications are wanted: LifecycleChangeNotificationsFilter or PkgmNotificationsFilter (SOL003 5.5.3.12, 10.5.3.4).
// The values of one attribute are alternatives; one that is empty allows everything; all attributes have to allow a notification.
type Filter struct {
	NotificationTypes []Type `json:"notificationTypes,omitempty"`

	// Of vnflcm. Types and states concern notifications of operation occurrences only.
	Instances       *InstanceFilter      `json:"vnfInstanceSubscriptionFilter,omitempty"`
	OperationTypes  []lcm.OperationType  `json:"operationTypes,omitempty"`
	OperationStates []lcm.OperationState `json:"operationStates,omitempty"`

	// Of vnfpkgm.
	Providers        []Provider                `json:"vnfProductsFromProviders,omitempty"`
	VnfdID           []string                  `json:"vnfdId,omitempty"`
	VnfPkgID         []string                  `json:"vnfPkgId,omitempty"`
	OperationalState []vnfpkg.OperationalState `json:"operationalState,omitempty"`
	UsageState       []vnfpkg.UsageState       `json:"usageState,omitempty"`
}

// InstanceFilter is VnfInstanceSubscriptionFilter (SOL003 4.4.1.5).
type InstanceFilter struct {
	VnfdIDs          []string   `json:"vnfdIds,omitempty"`
	Providers        []Provider `json:"vnfProductsFromProviders,omitempty"`
	VnfInstanceIDs   []string   `json:"vnfInstanceIds,omitempty"`
	VnfInstanceNames []string   `json:"vnfInstanceNames,omitempty"`
}

// Provider allows a provider's products: all, or those that are listed.
type Provider struct {
	VnfProvider string    `json:"vnfProvider"`
	VnfProducts []Product `json:"vnfProducts,omitempty"`
}

// Product allows versions of a product: all, or those that are listed.
type Product struct {
	VnfProductName string    `json:"vnfProductName"`
	Versions       []Version `json:"versions,omitempty"`
}

// Version allows VNFD versions of a version of the software: all, or those that are listed.
type Version struct {
	VnfSoftwareVersion string   `json:"vnfSoftwareVersion"`
	VnfdVersions       []string `json:"vnfdVersions,omitempty"`
}

// tidy brings filters that mean the same into the same form: what consumers subscribe to twice is compared by it.
func (f *Filter) tidy() {
	f.NotificationTypes, f.OperationTypes, f.OperationStates = tidied(f.NotificationTypes), tidied(f.OperationTypes), tidied(f.OperationStates)
	f.VnfdID, f.VnfPkgID = tidied(f.VnfdID), tidied(f.VnfPkgID)
	f.OperationalState, f.UsageState = tidied(f.OperationalState), tidied(f.UsageState)
	tidyProviders(f.Providers)
	if f.Instances == nil {
		return
	}
	i := f.Instances
	i.VnfdIDs, i.VnfInstanceIDs, i.VnfInstanceNames = tidied(i.VnfdIDs), tidied(i.VnfInstanceIDs), tidied(i.VnfInstanceNames)
	tidyProviders(i.Providers)
	if i.VnfdIDs == nil && i.VnfInstanceIDs == nil && i.VnfInstanceNames == nil && len(i.Providers) == 0 {
		f.Instances = nil
	}
}

func tidyProviders(providers []Provider) {
	slices.SortStableFunc(providers, func(a, b Provider) int { return cmp.Compare(a.VnfProvider, b.VnfProvider) })
	for _, provider := range providers {
		slices.SortStableFunc(provider.VnfProducts, func(a, b Product) int { return cmp.Compare(a.VnfProductName, b.VnfProductName) })
		for _, product := range provider.VnfProducts {
			slices.SortStableFunc(product.Versions, func(a, b Version) int { return cmp.Compare(a.VnfSoftwareVersion, b.VnfSoftwareVersion) })
			for i := range product.Versions {
				product.Versions[i].VnfdVersions = tidied(product.Versions[i].VnfdVersions)
			}
		}
	}
}

// Empty reports whether the filter allows everything.
func (f *Filter) Empty() bool {
	return f.Instances == nil && len(f.NotificationTypes)+len(f.OperationTypes)+len(f.OperationStates)+
		len(f.Providers)+len(f.VnfdID)+len(f.VnfPkgID)+len(f.OperationalState)+len(f.UsageState) == 0
}

// Allows reports whether the filter wants an event.
func (f *Filter) Allows(e *Event) bool {
	if !allows(f.NotificationTypes, e.Body.NotificationType) {
		return false
	}
	if e.Interface == Vnfpkgm {
		return allows(f.VnfdID, e.product.vnfdID) && allows(f.VnfPkgID, e.Body.VnfPkgID) && allowsProduct(f.Providers, e.product) &&
			allows(f.OperationalState, e.operationalState) && allows(f.UsageState, e.usageState)
	}
	if e.Body.NotificationType == OperationOccurrence &&
		(!allows(f.OperationTypes, e.Body.Operation) || !allows(f.OperationStates, e.Body.OperationState)) {
		return false
	}
	i := f.Instances
	return i == nil || allows(i.VnfdIDs, e.product.vnfdID) && allows(i.VnfInstanceIDs, e.Body.VnfInstanceID) &&
		allows(i.VnfInstanceNames, e.instanceName) && allowsProduct(i.Providers, e.product)
}

func allows[T comparable](values []T, value T) bool {
	return len(values) == 0 || slices.Contains(values, value)
}

func allowsProduct(providers []Provider, p product) bool {
	return anyOf(providers, func(provider Provider) bool {
		return provider.VnfProvider == p.provider && anyOf(provider.VnfProducts, func(named Product) bool {
			return named.VnfProductName == p.name && anyOf(named.Versions, func(version Version) bool {
				return version.VnfSoftwareVersion == p.softwareVersion && allows(version.VnfdVersions, p.vnfdVersion)
			})
		})
	})
}

// anyOf reports whether one of the alternatives allows; none allow everything.
func anyOf[T any](alternatives []T, one func(T) bool) bool {
	return len(alternatives) == 0 || slices.ContainsFunc(alternatives, one)
}
