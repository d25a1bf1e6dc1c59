import threading


class Bank:
    def __init__(self, balances):
        self.balances = dict(balances)
        self.lock = threading.Lock()

    def transfer(self, source, target, cents):
        with self.lock:
            for name in (source, target):
                if name not in self.balances:
                    raise KeyError(name)
            if source == target or cents <= 0 or cents > self.balances[source]:
                raise ValueError(f"cannot move {cents} from {source} to {target}")
            self.balances[source] -= cents
            self.balances[target] += cents

    def balance(self, name):
        with self.lock:
            return self.balances[name]

    def total(self):
        with self.lock:
            return sum(self.balances.values())
