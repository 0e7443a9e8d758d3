// Types with names that applications and other libraries use. The client library must not clash with them.

public struct ApplicationInfo {
    public init() {}
}

public struct AssertionFailure {
    public init() {}
}

public struct DeliveryError {
    public init() {}
}

public struct ErrorHandling {
    public init() {}
}

public struct ErrorSource {
    public init() {}
}

public struct HealingOption {
    public init() {}
}

public struct Presenter {
    public init() {}
}

public struct PresenterTexts {
    public init() {}
}

public struct Problem {
    public init() {}
}

public struct Prompt {
    public init() {}
}

public struct Receipt {
    public init() {}
}

public struct Recovery {
    public init() {}
}

public struct TerminalPresenter {
    public init() {}
}
