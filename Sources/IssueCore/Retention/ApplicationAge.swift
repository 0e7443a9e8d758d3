/// A setting for one application (`[Limits NAME]`).
package protocol ApplicationSetting {
    /// The name of the application.
    var name: String { get }
    /// The user of the application; nil for the applications of that name of all users.
    var uid: UInt32? { get }
}

extension Sequence where Element: ApplicationSetting {
    /// Returns the settings of an application, each of which overrides those before it: those for its user come after
    /// those for all users.
    func settings(uid: UInt32, application: String) -> [Element] {
        let matching = filter { $0.name == application }
        return matching.filter { $0.uid == nil } + matching.filter { $0.uid == uid }
    }
}

/// The maximum age of the records of one application (`MaxAge=` in `[Limits NAME]`).
package struct ApplicationAge: ApplicationSetting, Hashable, Sendable {
    /// The name of the application.
    package var name: String
    /// The user of the application; nil for the applications of that name of all users.
    package var uid: UInt32?
    package var maxAge: Duration

    package init(name: String, uid: UInt32? = nil, maxAge: Duration) {
        (self.name, self.uid, self.maxAge) = (name, uid, maxAge)
    }
}

extension RetentionSettings {
    /// Returns the maximum age of an application's records.
    ///
    /// An age for the user wins over one for all users. Among equals the later one wins.
    ///
    /// - Parameters:
    ///   - uid: The user the application runs as.
    ///   - application: The application's name.
    package func maxAge(uid: UInt32, application: String) -> Duration {
        applicationAges.settings(uid: uid, application: application).last?.maxAge ?? maxAge
    }

    /// All maximum ages in ascending order, each once.
    package var ages: [Duration] { Set(applicationAges.map(\.maxAge) + [maxAge]).sorted() }
    /// The ages that end while the range still has records of other applications. At the highest age, ranges are removed
    /// as a whole.
    package var partialAges: [Duration] { ages.dropLast() }
    package var lowestAge: Duration { ages.first ?? maxAge }
    package var highestAge: Duration { ages.last ?? maxAge }
}

extension RetentionSnapshot {
    /// The applications in a closed range whose records may be too old.
    package struct AgedRange: Equatable, Sendable {
        package var range: ClosedRange
        package var accounts: Set<AccountID>
        /// The age from which their records are removed.
        package var maxAge: Duration

        package init(range: ClosedRange, accounts: Set<AccountID>, maxAge: Duration) {
            (self.range, self.accounts, self.maxAge) = (range, accounts, maxAge)
        }
    }
}
