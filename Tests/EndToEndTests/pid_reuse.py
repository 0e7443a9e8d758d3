"""Reports over a connection after the process that opened it has ended and another process has its pid.

    pid_reuse.py SOCKET DAEMON ACCEPTED UID FOLDER

DAEMON is the daemon's pid. If ACCEPTED is `early`, the daemon accepts the
connection before the pid is reused. If it is `late`, the daemon is stopped until
the pid has been reused, and accepts the connection afterwards. The maker of the
connection has the user id UID. The process that gets its pid afterwards belongs
to root and runs the program `impostor`, which is created in FOLDER. Must be run
by root. Prints the pid and the answer to the report, or `taken` if another
process got the pid.
"""
import os, shutil, signal, socket, sys, time

path, daemon, accepted, uid, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5]
CALL = b'{"method":"org.issued.Collector.Report","parameters":{"records":[{"message":"%s"}]}}\0'


def read_all(descriptor):
    parts = []
    while part := os.read(descriptor, 4096):
        parts.append(part)
    return b"".join(parts)


def report(connection, message):
    connection.sendall(CALL % message)
    answer = b""
    while not answer.endswith(b"\0"):
        part = connection.recv(4096)
        if not part:
            break
        answer += part
    return answer.rstrip(b"\0")


def take(pid):
    """Starts the impostor with this pid, which is free."""
    for _ in range(500):
        with open("/proc/sys/kernel/ns_last_pid", "w") as file:
            file.write(str(pid - 1))
        child = os.fork()
        if child == 0:
            if os.getpid() == pid:
                os.execv(impostor, [impostor, "60"])
            os._exit(0)
        if child == pid:
            return
        os.waitpid(child, 0)
    print("taken")
    sys.exit(0)


impostor = os.path.join(folder, "impostor")
shutil.copy("/bin/sleep", impostor)
go, answer = os.pipe(), os.pipe()
try:
    if accepted == "late":
        os.kill(daemon, signal.SIGSTOP)
        while open(f"/proc/{daemon}/stat").read().rsplit(")", 1)[1].split()[0] != "T":
            time.sleep(0.01)
    maker = os.fork()
    if maker == 0:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        if accepted == "early":
            report(connection, b"while its maker runs")
        if os.fork() == 0:
            os.close(go[1])
            os.read(go[0], 1)
            os.write(answer[1], report(connection, b"when its maker has ended"))
        os._exit(0)
    os.close(answer[1])
    os.waitpid(maker, 0)
    take(maker)
    while open(f"/proc/{maker}/comm").read() != "impostor\n":
        time.sleep(0.01)
    os.kill(daemon, signal.SIGCONT)
    os.close(go[1])
    print(maker, read_all(answer[0]).decode(), flush=True)
    os.kill(maker, signal.SIGKILL)
finally:
    os.kill(daemon, signal.SIGCONT)
