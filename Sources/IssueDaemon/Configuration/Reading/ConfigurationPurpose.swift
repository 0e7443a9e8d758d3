/// What a configuration is read for.
package enum ConfigurationPurpose: Hashable, Sendable {
    /// To go by it: all that it needs must be there.
    case running
    /// To be looked at by hand, outside the service: a credential that only
    /// the service sees is no mistake.
    case looking
}
