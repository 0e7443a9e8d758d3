/// Something that can be done about an error, to choose from.
public struct HealingOption: Sendable {
    /// How an option is to look.
    public enum Style: String, CaseIterable, Hashable, Codable, Sendable {
        /// One among others.
        case normal
        /// The one to take when in doubt.
        case recommended
        /// One that destroys something.
        case destructive
    }

    /// What stands on the button.
    public var title: String
    /// How it is to look.
    public var style: Style
    /// What it does.
    public var handler: @Sendable () -> Void

    /// Something that can be done.
    public init(_ title: String, style: Style = .normal, handler: @escaping @Sendable () -> Void) {
        self.title = title
        self.style = style
        self.handler = handler
    }

    /// Leaves everything as it is.
    public static var cancel: HealingOption {
        HealingOption(PresenterTexts.current.cancel) {}
    }

    /// Tries again.
    public static func retry(_ handler: @escaping @Sendable () -> Void) -> HealingOption {
        HealingOption(PresenterTexts.current.retry, style: .recommended, handler: handler)
    }
}
