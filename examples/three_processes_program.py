"""Three processes of four threads each: this one, a child of multiprocessing and a child of subprocess.

`three_processes.py` debugs all of them at once.
"""

import multiprocessing
import subprocess
import sys
import threading

THREADS = 4


def count(process, number, together):
    together.wait()
    total = sum(range(number * 100))
    print(f"{process}: thread {number} counted {total}", flush=True)  # @here
    return total


def run(process):
    together = threading.Barrier(THREADS)
    workers = [threading.Thread(target=count, args=(process, number, together)) for number in range(1, THREADS)]
    for worker in workers:
        worker.start()
    count(process, THREADS, together)
    for worker in workers:
        worker.join()


def main():
    spawned = multiprocessing.get_context("spawn").Process(target=run, args=("spawned",))
    spawned.start()
    started = subprocess.Popen([sys.executable, __file__, "started"])
    run("main")
    spawned.join()
    started.wait()
    print("all done", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["started"]:
        run("started")
    else:
        main()
