extension Configuration {
    /// Reads all files, or says all that is wrong with them.
    package static func load(
        _ source: ConfigurationSource, in surroundings: Surroundings, for purpose: ConfigurationPurpose
    ) throws(InvalidConfiguration) -> Configuration {
        var reader = ConfigurationReader(surroundings: surroundings, purpose: purpose)
        return try reader.load(source)
    }
}
