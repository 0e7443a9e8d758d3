import Glibc

/// Runs a closure on several threads at the same time, and waits for all of them.
enum Threads {
    static func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let handles = (0..<count).map { index -> pthread_t in
            var handle = pthread_t()
            let work = Unmanaged.passRetained(Work { body(index) })
            pthread_create(
                &handle, nil,
                { context in
                    context.map { Unmanaged<Work>.fromOpaque($0).takeRetainedValue().body() }
                    return nil
                }, work.toOpaque())
            return handle
        }
        for handle in handles { pthread_join(handle, nil) }
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }
}
