internal import IssueWire

extension DeliveryError {
    package init(_ error: CollectorConnectionError) {
        let code: Code =
            switch error {
            case .switchedOff: .disabled
            case .unusablePath, .unreachable, .closed: .unreachable
            case .refused(.notFound): .notFound
            case .refused(.denied), .refused(.permissionDenied): .denied
            case .refused: .refused
            case .timedOut: .timedOut
            case .malformed: .malformed
            }
        self.init(code, error.description)
    }
}
