/// The application's facts at one time, shared by all reports of that time.
final class ApplicationSnapshot: Sendable {
    let info: ApplicationInfo

    init(_ info: ApplicationInfo) {
        self.info = info
    }
}
