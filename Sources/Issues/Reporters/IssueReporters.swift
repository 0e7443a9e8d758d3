internal import Synchronization

/// Who is told of the issues that are reported.
public enum IssueReporters {
    /// The reporters in force here; `[.default]` at first.
    ///
    /// Assigning changes the innermost
    /// `withIssueReporters` around the assignment,
    /// or the whole process where there is none.
    public static var current: [any IssueReporter] {
        get { ReportingScope.current.reporters.reporters }
        set { ReportingScope.current.reporters.reporters = newValue }
    }

    private static let applicationBox = Mutex<ApplicationSnapshot?>(nil)

    /// What the application says of itself with each issue.
    public static var application: ApplicationInfo {
        get { applicationSnapshot.info }
        set {
            let snapshot = ApplicationSnapshot(newValue)
            applicationBox.withLock { $0 = snapshot }
        }
    }

    static var applicationSnapshot: ApplicationSnapshot {
        if let snapshot = applicationBox.withLock({ $0 }) { return snapshot }
        // Made outside the lock, since it asks the kernel.
        let made = ApplicationSnapshot(ApplicationInfo())
        return applicationBox.withLock { snapshot in
            if let snapshot { return snapshot }
            snapshot = made
            return made
        }
    }
}
