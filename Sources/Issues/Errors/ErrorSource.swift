/// Whose doing an error is.
public enum ErrorSource: String, CaseIterable, Hashable, Codable, Sendable {
    /// Somebody entered what makes no sense.
    case invalidUserInput
    /// The program contradicts itself.
    case internalInconsistency
    /// Something that the program depends on is not there.
    case externalSystemUnavailable
    /// Something that the program depends on did what it should not.
    case externalSystemBehavedUnexpectedly

    /// A heading for people, in the language of ``PresenterTexts/current``.
    public var title: String {
        let texts = PresenterTexts.current
        return switch self {
        case .invalidUserInput: texts.invalidUserInput
        case .internalInconsistency: texts.internalInconsistency
        case .externalSystemUnavailable: texts.externalSystemUnavailable
        case .externalSystemBehavedUnexpectedly: texts.externalSystemBehavedUnexpectedly
        }
    }
}
