internal import Issues

// Run by the loader before the program begins: whoever links this product has
// nothing to call.
@section(".init_array") @used
private let installReader: @convention(c) () -> Void = {
    FoundationReader.current = FoundationReader(
        userMessage: { LocalizedErrorReader.userMessage(of: $0) }, facts: { LocalizedErrorReader.facts(of: $0) })
}
