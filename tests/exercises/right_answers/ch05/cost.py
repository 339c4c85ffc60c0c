"""More right answers to 05.cost."""


def cost_factored(Lq, Lk, D, Dc, Dk, Dv):
    return Lq * D * Dk + Lk * (Dc + Lq) * (Dk + Dv)


def cost_counted(Lq, Lk, D, Dc, Dk, Dv):
    count = 0
    for _ in range(Lq):
        count += D * Dk + Lk * Dk + Lk * Dv
    for _ in range(Lk):
        count += Dc * (Dk + Dv)
    return count


RIGHT = (cost_factored, cost_counted)
