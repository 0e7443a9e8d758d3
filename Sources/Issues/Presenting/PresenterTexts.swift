internal import Synchronization
internal import UnixIO

/// The words with which people are asked what to do about an error.
///
/// English and German are there; the language is that of the process's
/// environment. An application with others makes a table of its own and puts it
/// into ``current``.
public struct PresenterTexts: Hashable, Sendable {
    /// The heading where somebody entered what makes no sense.
    public var invalidUserInput = "Invalid User Input"
    /// The heading where the program contradicts itself.
    public var internalInconsistency = "Internal Inconsistency"
    /// The heading where something is not there.
    public var externalSystemUnavailable = "External System Unavailable"
    /// The heading where something did what it should not.
    public var externalSystemBehavedUnexpectedly = "Unexpected Behavior"
    /// The heading where nothing is known of the error.
    public var unknownError = "Unknown Error"
    /// The option that takes note of an error.
    public var okay = "Okay"
    /// The option after which the program ends.
    public var terminate = "Terminate App"
    /// The option that leaves everything as it is.
    public var cancel = "Cancel"
    /// The option that tries again.
    public var retry = "Try Again"
    /// What asks for the number of an option.
    public var choose = "Your choice"

    /// The English texts, to change.
    public init() {}

    /// The English texts.
    public static let english = PresenterTexts()

    /// The German texts.
    public static let german: PresenterTexts = {
        var texts = PresenterTexts()
        texts.invalidUserInput = "Ungültige Nutzereingabe"
        texts.internalInconsistency = "Interner Fehler"
        texts.externalSystemUnavailable = "Externes System nicht verfügbar"
        texts.externalSystemBehavedUnexpectedly = "Unerwartetes Verhalten"
        texts.unknownError = "Unbekannter Fehler"
        texts.okay = "Okay"
        texts.terminate = "App beenden"
        texts.cancel = "Abbrechen"
        texts.retry = "Erneut versuchen"
        texts.choose = "Ihre Wahl"
        return texts
    }()

    private static let storage = Mutex(
        PresenterTexts.forLanguage(of: ["LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"].map { UnixIO.Environment[$0] }))

    /// The texts in use; at first those of the language in the environment.
    public static var current: PresenterTexts {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }

    /// The texts for the first variable that is set, such as `de_AT.UTF-8`.
    static func forLanguage(of variables: [String?]) -> PresenterTexts {
        let language = variables.lazy.compactMap(\.self).first { !$0.isEmpty }
        return language?.hasPrefix("de") == true ? .german : .english
    }
}
