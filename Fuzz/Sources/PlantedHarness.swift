import IssueProtocol

/// A fault that is there to be found: who looks for faults and misses this one would miss any other.
///
/// It takes an engine that sees which branches an input has taken in the scanner, and a guard of memory that sees a
/// read beside the input.
enum PlantedHarness {
    static func run(_ input: Span<UInt8>) {
        guard let elements = (try? JSONValue(json: input))?.asArray, !elements.isEmpty else { return }
        require(unsafe input[unchecked: input.count] == 0 || elements.isEmpty, "Nobody saw the read beside the input")
    }
}

/// Work that grows with the square of its input, to be found in the same way.
enum PlantedGrowthHarness {
    static func run(_ input: Span<UInt8>) {
        guard let elements = (try? JSONValue(json: input))?.asArray else { return }
        var repeated = 0
        for element in elements { for other in elements where element == other { repeated += 1 } }
        require(repeated >= elements.count, "Each element is there once at least")
    }
}
