"""Richards: Martin Richards' simulation of an operating system's scheduler. Small methods, attributes, lists."""

import elsewhere  # noqa: F401
from timing import repeat

IDLE, WORKER, HANDLER_A, HANDLER_B, DEVICE_A, DEVICE_B = range(6)
DEVICE_PACKET, WORK_PACKET = 0, 1
BUFFER_SIZE = 4
LETTER_A = ord("A")


def other():
    return None


class Packet:
    def __init__(self, link, ident, kind):
        self.link = link
        self.ident = ident
        self.kind = kind
        self.datum = 0
        self.data = [0] * BUFFER_SIZE

    def append_to(self, queue):
        self.link = None
        if queue is None:
            return self
        last = queue
        while last.link is not None:
            last = last.link
        last.link = self
        return queue


class Task:
    """A task of the scheduler: `packet_pending`, `task_waiting` and `task_holding` are its state."""

    def __init__(self, scheduler, ident, priority, packets, is_waiting, record):
        self.scheduler = scheduler
        self.ident = ident
        self.priority = priority
        self.input = packets
        self.packet_pending = packets is not None
        self.task_waiting = is_waiting
        self.task_holding = False
        self.record = record
        self.link = scheduler.tasks
        scheduler.tasks = self
        scheduler.table[ident] = self

    def is_held(self):
        return self.task_holding or (not self.packet_pending and self.task_waiting)

    def run(self):
        message = None
        if self.packet_pending and self.task_waiting and not self.task_holding:
            message = self.input
            self.input = message.link
            self.packet_pending = self.input is not None
            self.task_waiting = False
        return self.act(message)

    def add_packet(self, packet, old):
        if self.input is None:
            self.input = packet
            self.packet_pending = True
            if self.priority > old.priority:
                return self
        else:
            packet.append_to(self.input)
        return old

    def wait(self):
        self.task_waiting = True
        return self

    def hold(self):
        self.scheduler.holds += 1
        self.task_holding = True
        return self.link

    def release(self, ident):
        task = self.scheduler.table[ident]
        task.task_holding = False
        return task if task.priority > self.priority else self

    def send(self, packet):
        task = self.scheduler.table[packet.ident]
        self.scheduler.packets += 1
        packet.link = None
        packet.ident = self.ident
        return task.add_packet(packet, self)


class IdleTask(Task):
    def act(self, message):
        self.record[1] -= 1
        if self.record[1] == 0:
            return self.hold()
        if self.record[0] & 1 == 0:
            self.record[0] //= 2
            return self.release(DEVICE_A)
        self.record[0] = self.record[0] // 2 ^ 0xD008
        return self.release(DEVICE_B)


class WorkTask(Task):
    def act(self, message):
        if message is None:
            return self.wait()
        destination = HANDLER_B if self.record[0] == HANDLER_A else HANDLER_A
        self.record[0] = destination
        message.ident = destination
        message.datum = 0
        for place in range(BUFFER_SIZE):
            self.record[1] += 1
            if self.record[1] > 26:
                self.record[1] = 1
            message.data[place] = LETTER_A + self.record[1] - 1
        return self.send(message)


class HandlerTask(Task):
    def act(self, message):
        if message is not None:
            place = 0 if message.kind == WORK_PACKET else 1
            self.record[place] = message.append_to(self.record[place])
        work = self.record[0]
        if work is None:
            return self.wait()
        count = work.datum
        if count >= BUFFER_SIZE:
            self.record[0] = work.link
            return self.send(work)
        device = self.record[1]
        if device is None:
            return self.wait()
        self.record[1] = device.link
        device.datum = work.data[count]
        work.datum = count + 1
        return self.send(device)


class DeviceTask(Task):
    def act(self, message):
        if message is not None:
            self.record[0] = message
            return self.hold()
        pending = self.record[0]
        if pending is None:
            return self.wait()
        self.record[0] = None
        return self.send(pending)


class Scheduler:
    def __init__(self):
        self.tasks = None
        self.table = [None] * 6
        self.holds = 0
        self.packets = 0

    def schedule(self):
        task = self.tasks
        while task is not None:
            task = task.link if task.is_held() else task.run()  # @hot
        if self.holds < 0:
            self.holds = 0  # @cold


def simulate():
    scheduler = Scheduler()
    IdleTask(scheduler, IDLE, 1, None, False, [1, 2000])
    queue = Packet(Packet(None, WORKER, WORK_PACKET), WORKER, WORK_PACKET)
    WorkTask(scheduler, WORKER, 1000, queue, True, [HANDLER_A, 0])
    for ident, device, priority in ((HANDLER_A, DEVICE_A, 2000), (HANDLER_B, DEVICE_B, 3000)):
        queue = None
        for _ in range(3):
            queue = Packet(queue, device, DEVICE_PACKET)
        HandlerTask(scheduler, ident, priority, queue, True, [None, None])
    DeviceTask(scheduler, DEVICE_A, 4000, None, True, [None])
    DeviceTask(scheduler, DEVICE_B, 5000, None, True, [None])
    scheduler.schedule()
    return scheduler.holds, scheduler.packets


def work(size):
    for _ in range(max(1, round(6 * size))):
        holds, packets = simulate()
        assert holds > 300 and packets > 1000, (holds, packets)


if __name__ == "__main__":
    repeat(work)
