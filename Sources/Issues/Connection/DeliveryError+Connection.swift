internal import IssueWire

extension DeliveryError {
    package init(_ error: CollectorConnectionError) {
        let code: Code =
            switch error {
            case .switchedOff: .disabled
            case .unusablePath, .unreachable, .untrusted, .closed: .unreachable
            case .refused(.notFound): .notFound
            case .refused(.denied), .refused(.permissionDenied): .denied
            case .refused: .refused
            case .timedOut: .timedOut
            case .malformed: .malformed
            }
        self.init(code, error.description)
    }

    /// The error of a question about a destination, which may be what was not found.
    package init(_ error: CollectorConnectionError, destination: String?) {
        if let destination, error == .refused(.notFound(id: destination)) {
            self.init(.notFound, "There is no destination named \(destination).")
        } else {
            self.init(error)
        }
    }
}
