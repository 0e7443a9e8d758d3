extension Configuration {
    /// Reads all files.
    ///
    /// - Throws: All errors in them, if there are any.
    package static func load(
        _ source: ConfigurationSource, in surroundings: Surroundings, for purpose: ConfigurationPurpose
    ) throws(InvalidConfiguration) -> Configuration {
        let reading = read(source, in: surroundings, for: purpose)
        guard reading.problems.isEmpty else { throw InvalidConfiguration(reading.problems) }
        return reading.configuration
    }

    /// Reads all files and leaves out what is wrong.
    package static func read(
        _ source: ConfigurationSource, in surroundings: Surroundings, for purpose: ConfigurationPurpose
    ) -> ConfigurationReading {
        var reader = ConfigurationReader(surroundings: surroundings, purpose: purpose)
        return reader.read(source)
    }
}
