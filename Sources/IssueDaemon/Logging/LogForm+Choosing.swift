import UnixIO

extension LogForm {
    /// What a target means for a process with that standard error.
    ///
    /// - Parameters:
    ///   - stream: `JOURNAL_STREAM`, which holds device and inode of what the
    ///     service manager has made standard error.
    ///   - device: The device of what standard error is now; it may have been
    ///     redirected since.
    package static func chosen(
        for target: LogTarget, stream: String?, device: UInt64?, inode: UInt64?
    ) -> LogForm {
        switch target {
        case .journal: .journal
        case .stderr: .plain
        case .auto:
            if let stream, let device, let inode, stream == "\(device):\(inode)" { .journal } else { .plain }
        }
    }

    /// What a target means for this process.
    package static func chosen(for target: LogTarget) -> LogForm {
        let status = try? StandardStream.error.duplicate().status()
        return chosen(
            for: target, stream: Environment["JOURNAL_STREAM"], device: status?.device, inode: status?.inode)
    }
}
