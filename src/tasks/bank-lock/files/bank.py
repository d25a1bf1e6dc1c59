import threading


class Bank:
    def __init__(self, balances):
        self.balances = dict(balances)
        self.locks = {name: threading.Lock() for name in balances}

    def transfer(self, source, target, cents):
        if cents > self.balances[source]:
            raise ValueError(f"cannot move {cents} from {source} to {target}")
        with self.locks[source]:
            self.balances[source] = self.balances[source] - cents
            with self.locks[target]:
                self.balances[target] = self.balances[target] + cents

    def balance(self, name):
        return self.balances[name]

    def total(self):
        return sum(self.balances.values())
