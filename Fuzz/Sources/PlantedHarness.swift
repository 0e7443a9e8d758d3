import IssueProtocol

/// A fault that each run must find. A run that misses it would miss other faults, too.
///
/// To find it, the engine must follow the branches that an input takes in the scanner, and the address sanitizer must
/// detect a read after the end of the input.
enum PlantedHarness {
    static func run(_ input: Span<UInt8>) {
        guard let elements = (try? JSONValue(json: input))?.asArray, !elements.isEmpty else { return }
        require(
            unsafe input[unchecked: input.count] == 0 || elements.isEmpty,
            "The read after the end of the input was not detected")
    }
}

/// Work that grows with the square of its input. Each run must find it, too.
enum PlantedGrowthHarness {
    static func run(_ input: Span<UInt8>) {
        guard let elements = (try? JSONValue(json: input))?.asArray else { return }
        var repeated = 0
        for element in elements { for other in elements where element == other { repeated += 1 } }
        require(repeated >= elements.count, "An element is not equal to itself")
    }
}
